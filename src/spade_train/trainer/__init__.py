"""The one trainer. Only this package touches TRL."""
