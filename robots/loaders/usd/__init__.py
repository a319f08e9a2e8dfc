"""USD: reading and writing, through OpenUSD's library."""
