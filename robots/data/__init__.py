"""Robots and objects of posewise, which `pw.load` reads by their names."""
