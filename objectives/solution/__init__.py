"""Solutions, their derivatives, and problems that begin at one."""
