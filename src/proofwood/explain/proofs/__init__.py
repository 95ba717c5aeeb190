"""Certificates, and checks that share no code with what made them."""
