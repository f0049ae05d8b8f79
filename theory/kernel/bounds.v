(* The bounds and step sizes of statements of the catalogue; `fedtheory record coq` writes this file. *)
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
