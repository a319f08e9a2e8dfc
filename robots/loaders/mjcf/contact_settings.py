"""Settings of MuJoCo's contacts, for stiff ones that do not slip."""

TIME_STEP = 2e-3
"""Time step of the simulation [s]; a shorter one makes contacts stiffer, but takes
longer."""
SOLREF = [2 * TIME_STEP, 1.0]
"""MuJoCo's reference of contacts, limits and mimics: time constant [s], damping ratio.

Twice the time step is the least time constant that MuJoCo integrates stably."""
SOLIMP = [0.99, 0.999, 1e-4, 0.5, 2.0]
"""MuJoCo's impedance of contacts, limits and mimics: least and largest impedance, width
[m], midpoint, power.

Contacts are as stiff as the time step allows: a tower of ten boxes moves 0.04 mm in 2 s
(with MuJoCo's defaults 6 mm)."""
CONTACT_MARGIN = 1e-8
"""Gap up to which geoms are in contact [m].

With none, rounding decides whether objects that just touch fall freely in the first
steps: a tower of ten boxes slid by 0.3 or 1.7 mm. A larger one lifts objects."""
