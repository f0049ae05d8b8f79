(* All hypotheses can hold at once, with gradients, noise and heterogeneity that are not zero: on the line, two clients with
   the functions (x - 1)^2 / 2 and (x + 1)^2 / 2, and noise +-1. *)
Require Import Reals Lra Lia List Permutation.
Require Import rules chance order steps runs bounds.
Require pfl sfl.
Open Scope R_scope.

Definition place (m : nat) : R := match m with O => 1 | _ => -1 end.
Definition F (m : nat) : numbers -> R := fun x => (x - place m) ^ 2 / 2.
Definition gradF (m : nat) : numbers -> numbers := fun x => x - place m.
(* g + 1 or g - 1, with the same chance *)
Definition coin (g : R) : Dist numbers := uniformly (g + 1 : numbers) ((g - 1 : numbers) :: nil).

Lemma coin_is g : stochastic_gradient (coin g) (g : numbers) 1.
Proof.
  split; [intro z |]; unfold coin; rewrite E_uniformly; unfold sq, sub; simpl; lra.
Qed.
Lemma smooth m : smooth_above (F m) (gradF m) 1.
Proof. intros x y. unfold F, gradF, sq, sub. simpl. lra. Qed.
Lemma convex m : tangent (F m) (gradF m) 0.
Proof.
  intros x y. unfold F, gradF, sq, sub. simpl. pose proof (Rle_0_sqr (y - x)) as P. unfold Rsqr in P. lra.
Qed.
Lemma strong m : tangent (F m) (gradF m) 1.
Proof. intros x y. unfold F, gradF, sq, sub. simpl. lra. Qed.
Lemma minimiser x : objective 2 F (0 : numbers) <= objective 2 F x.
Proof. unfold objective, F, place. simpl. pose proof (Rle_0_sqr x) as P. unfold Rsqr in P. lra. Qed.
Lemma apart : heterogeneity 2 gradF (0 : numbers) <= 1 ^ 2.
Proof. unfold heterogeneity, gradF, place, sq. simpl. lra. Qed.

(* two clients, two steps, one round, from x^(0) = 1, with eta = 1/24 *)
Definition after_pfl := pfl.general_convex numbers 2 2 1 F gradF 1 1 1 (1 / 24) 1 0
  (fun r xs m k d => coin (gradF m (point (1 / 24) (xs r) d k)))
  ltac:(lia) ltac:(lia) ltac:(lra) ltac:(lra) (fun m _ => smooth m) (fun m _ => convex m) minimiser apart
  (fun _ _ _ _ _ _ _ => coin_is _) ltac:(unfold thm2_general_convex_sharp_when; simpl; lra).
Definition after_sfl := sfl.general_convex numbers 2 2 1 F gradF 1 1 1 (1 / 24) 1 0
  (fun r xs pi t d => coin (gradF (nth (t / 2) pi 0%nat) (point (1 / 24) (xs r) d t)))
  ltac:(lia) ltac:(lia) ltac:(lra) ltac:(lra) (fun m _ => smooth m) (fun m _ => convex m) minimiser apart
  (fun _ _ _ _ _ _ _ => coin_is _) ltac:(unfold thm1_general_convex_sharp_when; simpl; lra).
(* the same for twelve rounds, strongly convex with mu = 1 *)
Definition after_pfl_strongly := pfl.strongly_convex numbers 2 2 12 F gradF 1 1 1 1 (1 / 24) 1 0
  (fun r xs m k d => coin (gradF m (point (1 / 24) (xs r) d k)))
  ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lra) ltac:(lra) ltac:(lra) (fun m _ => smooth m) (fun m _ => strong m)
  minimiser apart (fun _ _ _ _ _ _ _ => coin_is _) ltac:(unfold thm2_strongly_convex_sharp_when; simpl; lra).
Definition after_sfl_strongly := sfl.strongly_convex numbers 2 2 12 F gradF 1 1 1 1 (1 / 48) 1 0
  (fun r xs pi t d => coin (gradF (nth (t / 2) pi 0%nat) (point (1 / 48) (xs r) d t)))
  ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lra) ltac:(lra) ltac:(lra) (fun m _ => smooth m) (fun m _ => strong m)
  minimiser apart (fun _ _ _ _ _ _ _ => coin_is _) ltac:(unfold thm1_strongly_convex_sharp_when; simpl; lra).
