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

(* fedcom.thmE4 *)
Definition fedcom_thmE4 (G_q L R_ eta f_gap fj_gap_mean gamma m q sigma tau : R) : R :=
  (2 * f_gap / (eta * gamma * R_ * tau))
  + (L * eta * gamma * sigma ^ 2 * (1 + q) / m)
  + (36 * tau * sigma ^ 2 * L ^ 2 * eta ^ 2)
  + (10 * sigma ^ 2 * L ^ 4 * eta ^ 4 * gamma ^ 2 * tau ^ 3 * (1 + q) / m)
  + (10 * G_q * L ^ 4 * eta ^ 4 * gamma ^ 2 * tau ^ 2 * (1 + q))
  + (32 * fj_gap_mean * eta * tau * L ^ 2 / R_)
  + (16 * sigma ^ 2 * L ^ 2 * eta ^ 3 * tau ^ 2 / R_)
  + (32 * f_gap * L ^ 3 * eta ^ 2 * tau ^ 2 / R_)
  + (G_q * L * eta * gamma / tau).
Definition fedcom_thmE4_when (G_q L R_ eta f_gap fj_gap_mean gamma m q sigma tau : R) : Prop :=
  1 - L * eta * gamma * tau * (1 + q) - 10 * L ^ 4 * eta ^ 4 * gamma ^ 2 * tau ^ 4 * (1 + q) >= 0 /\ 30 * L ^ 2 * eta ^ 2 * tau ^ 2 <= 1.
