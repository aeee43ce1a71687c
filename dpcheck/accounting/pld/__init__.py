"""The certified privacy-loss distribution, behind two doors.

Other packages import only these two modules:

- `dpcheck.accounting.pld.distribution`: compose losses, then ask for epsilon, delta or the trade-off curve;
- `dpcheck.accounting.pld.verify`: prove an answer a second time in ball arithmetic.

`dpcheck.accounting.pairs`, which says what the lattices of each pair are built from, sees the rest.
Everything else here (lattices, windows) may change without notice.
"""
