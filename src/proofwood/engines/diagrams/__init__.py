"""Decision diagrams from truth tables: beads, fillings of unreached cells, orders, and the smallest of them."""
