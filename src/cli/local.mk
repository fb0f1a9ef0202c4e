# src/cli
