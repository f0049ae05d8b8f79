(* Bounds, step sizes and weights of the catalogue; `fedtheory record coq` writes this file. *)
Require Import Reals.
Open Scope R_scope.

(* sfl.thm2.general_convex.sharp *)
Definition thm2_general_convex_sharp (D K L M R_ eta_tilde sigma zeta_star : R) : R :=
  (D ^ 2 / (2 * eta_tilde * (1 + R_)))
  + (eta_tilde * sigma ^ 2 / (2 * K * M))
  + (61 * L * sigma ^ 2 * eta_tilde ^ 2 * (1 - 1 / M) ^ 2 * (1 - 1 / K) / (236 * K))
  + (61 * L * zeta_star ^ 2 * eta_tilde ^ 2 * (1 - 1 / K) * (1 - 1 / (2 * K)) / 354).
Definition thm2_general_convex_sharp_when (D K L M R_ eta_tilde sigma zeta_star : R) : Prop :=
  eta_tilde <= 1 / (6 * L).

(* sfl.thm1.general_convex.sharp *)
Definition thm1_general_convex_sharp (D K L M R_ eta_tilde sigma zeta_star : R) : R :=
  (D ^ 2 / (2 * eta_tilde * (1 + R_)))
  + (eta_tilde * sigma ^ 2 / (2 * K * M))
  + (L * zeta_star ^ 2 * eta_tilde ^ 2 * (11 + 23 / (K ^ 2 * M)) / (209 * M)).
Definition thm1_general_convex_sharp_when (D K L M R_ eta_tilde sigma zeta_star : R) : Prop :=
  eta_tilde <= 1 / (6 * L).

(* sfl.thm2.strongly_convex.sharp *)
Definition thm2_strongly_convex_sharp (D K L M R_ eta_tilde mu sigma zeta_star : R) : R :=
  (159 * mu * D ^ 2 * exp ((- mu) * eta_tilde * (1 + R_) / 2) / 250)
  + (eta_tilde * sigma ^ 2 / (2 * K * M))
  + (5 * L * sigma ^ 2 * eta_tilde ^ 2 * (1 - 1 / M) ^ 2 * (1 - 1 / K) / (18 * K))
  + (11 * L * zeta_star ^ 2 * eta_tilde ^ 2 * (1 - 1 / K) * (1 - 1 / (2 * K)) / 60).
Definition thm2_strongly_convex_sharp_when (D K L M R_ eta_tilde mu sigma zeta_star : R) : Prop :=
  1 / (mu * R_) <= eta_tilde /\ eta_tilde <= 1 / (6 * L) /\ mu <= L.
Definition thm2_strongly_convex_sharp_weight (eta_tilde mu : R) (whole_r : nat) : R :=
  (/ (1 - mu * eta_tilde / 2) ^ (1 + whole_r)).

(* sfl.thm1.strongly_convex.sharp *)
Definition thm1_strongly_convex_sharp (D K L M R_ eta_tilde mu sigma zeta_star : R) : R :=
  (159 * mu * D ^ 2 * exp ((- mu) * eta_tilde * (1 + R_) / 2) / 250)
  + (eta_tilde * sigma ^ 2 / (2 * K * M))
  + (37 * L * zeta_star ^ 2 * eta_tilde ^ 2 * (1 + 1 / (K ^ 2 * M)) / (424 * M)).
Definition thm1_strongly_convex_sharp_when (D K L M R_ eta_tilde mu sigma zeta_star : R) : Prop :=
  1 / (mu * R_) <= eta_tilde /\ eta_tilde <= 1 / (6 * L) /\ mu <= L.
Definition thm1_strongly_convex_sharp_weight (eta_tilde mu : R) (whole_r : nat) : R :=
  (/ (1 - mu * eta_tilde / 2) ^ (1 + whole_r)).
