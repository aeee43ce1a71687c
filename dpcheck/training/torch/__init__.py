"""Trainings in torch: aten calls as they are made, and what each implies."""
