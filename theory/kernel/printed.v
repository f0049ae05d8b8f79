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
Definition eq54_eta_tilde (K S_ eta : R) : R := (eta * K * S_).

(* sfl.eq80 *)
Definition eq80 (A K L M R_ S_ beta eta_tilde sigma zeta : R) : R :=
  (3 * A / (eta_tilde * R_))
  + (3 * L * eta_tilde * sigma ^ 2 / (K * S_))
  + (27 * sigma ^ 2 * L ^ 2 * eta_tilde ^ 2 / (8 * K))
  + (9 * zeta ^ 2 * L ^ 2 * eta_tilde ^ 2 / 4).
Definition eq80_when (A K L M R_ S_ beta eta_tilde sigma zeta : R) : Prop :=
  eta_tilde <= 1 / (6 * L * (1 + beta)) /\ S_ <= M.
Definition eq80_eta_tilde (K eta : R) : R := (eta * K).

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

(* fedcom.thmD9 *)
Definition fedcom_thmD9 (L R_ f_gap gamma m q sigma tau w_star_norm : R) : R :=
  (f_gap * exp ((- R_) / (2 * L * sqrt m * sqrt tau * (1 + q / m))))
  + (sigma ^ 2 * sqrt m / (8 * gamma ^ 2 * sqrt tau * (1 + q / m) ^ 2))
  + (sigma ^ 2 * (1 + q) / (sqrt m * sqrt tau * (4 + 4 * q / m)))
  + (w_star_norm ^ 2 / (2 * sqrt m * sqrt tau)).
Definition fedcom_thmD9_when (L R_ f_gap gamma m q sigma tau w_star_norm : R) : Prop :=
  1 / 2 + 1 / (4 * gamma ^ 2 * (1 + q / m) ^ 2) <= 1.
Definition fedcom_thmD9_phi (m tau : R) : R := (1 / (sqrt m * sqrt tau)).
Definition fedcom_thmD9_eta (L gamma m q tau : R) : R := (1 / (2 * L * gamma * tau * (1 + q / m))).
