"""Makers of certificates, and ``verify()`` of an answer; the checker is in :mod:`proofwood.certificates`."""
