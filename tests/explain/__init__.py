"""Tests of how texts are explained."""
