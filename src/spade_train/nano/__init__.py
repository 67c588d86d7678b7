"""Nano: a tiny language model that writes environments and plays them, made from nothing here."""
