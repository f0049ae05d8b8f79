(* Bounds and step sizes as printed, of statements that fail; `fedtheory record coq` writes this file. *)
Require Import Reals.
Open Scope R_scope.

(* sfl.eq54 *)
Definition eq54 (A K L M R_ S_ beta eta_tilde sigma zeta : R) : R :=
  (3 * A / (eta_tilde * R_))
  + (3 * L * eta_tilde * sigma ^ 2 / (K * S_))
  + (27 * sigma ^ 2 * L ^ 2 * eta_tilde ^ 2 / (8 * K * S_))
  + (27 * zeta ^ 2 * L ^ 2 * eta_tilde ^ 2 / (8 * S_)).
Definition eq54_when (A K L M R_ S_ beta eta_tilde sigma zeta : R) : Prop :=
  eta_tilde <= 1 / (6 * L) /\ beta * eta_tilde <= sqrt S_ / (6 * L) /\ S_ <= M.

(* sfl.eq80 *)
Definition eq80 (A K L M R_ S_ beta eta_tilde sigma zeta : R) : R :=
  (3 * A / (eta_tilde * R_))
  + (3 * L * eta_tilde * sigma ^ 2 / (K * S_))
  + (27 * sigma ^ 2 * L ^ 2 * eta_tilde ^ 2 / (8 * K))
  + (9 * zeta ^ 2 * L ^ 2 * eta_tilde ^ 2 / 4).
Definition eq80_when (A K L M R_ S_ beta eta_tilde sigma zeta : R) : Prop :=
  eta_tilde <= 1 / (6 * L * (1 + beta)) /\ S_ <= M.
