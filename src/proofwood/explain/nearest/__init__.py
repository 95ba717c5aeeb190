"""How near another class is: what a change costs, and the searches for the cheapest."""
