# src/sim
