"use strict";
// The exact expectation of a run of SFL or PFL that follows the sliders: on quadratics that have the constants of a bound.
//
// Two coordinates, of curvature L and mu (L/10 where the bound has no mu), the same for all clients.  Half of the clients have
// the gradient zeta at the minimiser along the first coordinate, half of them -zeta; with an odd number one client has none.
// Noise and start are the same in both coordinates.  A round maps a coordinate x to a x + noise, so second moments follow a
// linear recursion of a few numbers, of which powers by squaring give any round.
window.follow = (() => {
  const times = (A, B) => A.map((row) => B[0].map((_, j) => row.reduce((sum, a, k) => sum + a * B[k][j], 0)));
  const apply = (A, y) => A.map((row) => row.reduce((sum, a, k) => sum + a * y[k], 0));

  function after(A, y, rounds) {
    let [power, now] = [A, y];
    for (let left = rounds; left > 0; left = Math.floor(left / 2)) {
      if (left % 2) now = apply(power, now);
      power = times(power, power);
    }
    return now;
  }

  const geometric = (a, n) => (Math.abs(1 - a) < 1e-3 ? Array.from({ length: n }, (_, j) => a ** j).reduce((x, y) => x + y, 0) : (1 - a ** n) / (1 - a));

  // Why there is no such problem; empty if there is one
  function refused(v) {
    const zeta = v.zeta_star ?? v.zeta;
    if (v.S > v.M) return "S is larger than M";
    if (v.mu > v.L) return "no function has mu above L";
    return v.M === 1 && zeta > 0 ? "one client is its own mean, so its zeta is 0" : "";
  }

  // Of each coordinate: its curvature, the factor a of a round, the variance that a round adds, and the start
  function coordinates(run, v) {
    const [M, K, zeta, eta] = [v.M, v.K, v.zeta_star ?? v.zeta, run.rate(v)];
    const S = v.S ?? M;
    const curvatures = [v.L, v.mu ?? v.L / 10];
    const start = "D" in v ? v.D / Math.SQRT2 : Math.sqrt((2 * v.A) / (curvatures[0] + curvatures[1]));
    return curvatures.map((h, i) => {
      const step = 1 - eta * h;
      const q = step ** K; // of a client
      const apart = i || M === 1 ? 0 : (eta * geometric(step, K) * zeta) ** 2; // variance of a client's drift
      const noise = ((eta * v.sigma) ** 2 / 2) * geometric(step ** 2, K);
      if (run.method === "PFL") return { h, start, a: q, adds: noise / S + (M > 1 ? (apart * (M - S)) / (S * (M - 1)) : 0) };
      const [one, two] = [geometric(q, S), geometric(q * q, S)]; // drawn without replacement: two drifts have covariance -apart/(M - 1)
      return { h, start, a: q ** S, adds: noise * two + (M > 1 ? apart * (two - (one * one - two) / (M - 1)) : 0) };
    });
  }

  // E f(average of x_0 ... x_R) - f(x*), with the weights of the bound: x x, x u, u u and the sum of weights, u the weighted sum
  function gapOfAverage(run, v) {
    const r = run.ratio(v);
    return coordinates(run, v).reduce((sum, { h, a, adds, start }) => {
      const x = [adds, a * a, 0, 0, 0];
      const step = [[1, 0, 0, 0, 0], x, [x[0], x[1], r * a, 0, 0], [x[0], x[1], 2 * r * a, r * r, 0], [1, 0, 0, 0, r]];
      const [, , , squared, weights] = after(step, [1, start ** 2, start ** 2, start ** 2, 1], v.R);
      return sum + ((h / 2) * squared) / weights ** 2;
    }, 0);
  }

  // The smallest E |grad f(x_r)|^2 of r = 0 ... R: a sum of two powers, which is smallest at an end or where its slope is 0
  function smallestGradient(run, v) {
    const own = coordinates(run, v);
    const at = (rounds) => own.reduce((sum, { h, a, adds, start }) => sum + h * h * after([[1, 0], [adds, a * a]], [1, start ** 2], rounds)[1], 0);
    const [one, two] = own.map(({ h, a, adds, start }) => h * h * (start ** 2 - adds / (1 - a * a)) * Math.log(a * a));
    const flat = Math.log(-one / two) / Math.log((own[1].a / own[0].a) ** 2);
    const rounds = [0, 1, v.R, Math.floor(flat), Math.ceil(flat)].filter((r) => r >= 0 && r <= v.R);
    return Math.min(...rounds.map(at));
  }

  const measures = { gap_average: gapOfAverage, grad_sq: smallestGradient };
  return { refused, value: (run, v) => (refused(v) ? NaN : measures[run.measures](run, v)) };
})();
