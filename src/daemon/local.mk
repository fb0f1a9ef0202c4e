# src/daemon
