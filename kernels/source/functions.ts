// Functions of one number, computed in float64. They use additions, products and divisions only, so that a result has
// the same bits on every machine; the functions of a browser's `Math` may differ in their last digits.

const LN2_HIGH: f64 = 0.6931471803691238; // ln 2 in two parts: n times the first is exact
const LN2_LOW: f64 = 1.9082149292705877e-10;
const LOG2_E: f64 = 1.4426950408889634;

/** Return eˣ − 1 of two numbers, times 2ⁿ below: x = n ln 2 + r, and eʳ − 1 by its series. */
@inline
function seriesOf(r: v128): v128 {
  let sum = f64x2.splat(1.0 / 6227020800.0); // 1 / 13!
  sum = f64x2.add(f64x2.splat(1.0 / 479001600.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(1.0 / 39916800.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(1.0 / 3628800.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(1.0 / 362880.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(1.0 / 40320.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(1.0 / 5040.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(1.0 / 720.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(1.0 / 120.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(1.0 / 24.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(1.0 / 6.0), f64x2.mul(r, sum));
  sum = f64x2.add(f64x2.splat(0.5), f64x2.mul(r, sum));
  return f64x2.add(r, f64x2.mul(f64x2.mul(r, r), sum));
}

@inline
function remainder(x: v128, n: v128): v128 {
  return f64x2.sub(f64x2.sub(x, f64x2.mul(n, f64x2.splat(LN2_HIGH))), f64x2.mul(n, f64x2.splat(LN2_LOW)));
}

/** Return 2ⁿ of two whole numbers from −1022 to 1023. */
@inline
function powerOfTwo(n: v128): v128 {
  return i64x2.shl(i64x2.add(i64x2.extend_low_i32x4_s(n), i64x2.splat(1023)), 52);
}

/** Return eˣ of two numbers. */
export function expOfTwo(x: v128): v128 {
  x = f64x2.pmax(f64x2.pmin(x, f64x2.splat(710)), f64x2.splat(-750)); // beyond them the result is inf or 0
  const n = f64x2.nearest(f64x2.mul(x, f64x2.splat(LOG2_E)));
  const power = f64x2.add(f64x2.splat(1), seriesOf(remainder(x, n)));
  const whole = i32x4.trunc_sat_f64x2_s_zero(n);
  const half = i32x4.shr_s(whole, 1); // in two steps, because 2ⁿ alone may be too large or too small
  return f64x2.mul(f64x2.mul(power, powerOfTwo(half)), powerOfTwo(i32x4.sub(whole, half)));
}

/** Return tanh x = m / (m + 2) of two numbers, with m = e²ˣ − 1, which is exact near 0 too. */
export function tanhOfTwo(x: v128): v128 {
  const twice = f64x2.mul(f64x2.splat(2), f64x2.pmax(f64x2.pmin(x, f64x2.splat(20)), f64x2.splat(-20)));
  const n = f64x2.nearest(f64x2.mul(twice, f64x2.splat(LOG2_E)));
  const scale = powerOfTwo(i32x4.trunc_sat_f64x2_s_zero(n));
  const power = seriesOf(remainder(twice, n));
  const m = f64x2.add(f64x2.sub(scale, f64x2.splat(1)), f64x2.mul(scale, power));
  return f64x2.div(m, f64x2.add(m, f64x2.splat(2)));
}

/** Return 1 / (1 + e⁻ˣ) of two numbers. */
export function sigmoidOfTwo(x: v128): v128 {
  return f64x2.div(f64x2.splat(1), f64x2.add(f64x2.splat(1), expOfTwo(f64x2.neg(x))));
}

export function exp(x: f64): f64 {
  return f64x2.extract_lane(expOfTwo(f64x2.splat(x)), 0);
}

/** Return ln x: of x = 2ⁿ m, it is n ln 2 + 2 (s + s³/3 + s⁵/5 + …) with s = (m − 1) / (m + 1). */
export function log(x: f64): f64 {
  if (x == 0) return -Infinity;
  if (!(x > 0) || x == Infinity) return x > 0 ? x : NaN;
  let n: i64 = 0;
  if (x < 2.2250738585072014e-308) {
    x *= 18014398509481984; // 2⁵⁴
    n = -54;
  }
  const bits = reinterpret<i64>(x);
  n += (bits >> 52) - 1023;
  let m = reinterpret<f64>((bits & 0x000fffffffffffff) | (<i64>1023 << 52));
  if (m > 1.4142135623730951) {
    m *= 0.5;
    n += 1;
  }
  const s = (m - 1) / (m + 1);
  const square = s * s;
  let sum: f64 = 0;
  for (let k = 21; k > 1; k -= 2) sum = (sum + 1.0 / <f64>k) * square;
  return <f64>n * LN2_HIGH + (2 * s + (2 * s * sum + <f64>n * LN2_LOW));
}

/** Return erf x by its series (2 / √π) e^(−x²) Σ 2ᵏ x²ᵏ⁺¹ / (2k + 1)!!, whose terms are all of one sign. */
export function erf(x: f64): f64 {
  if (!(abs(x) < 6)) return x > 0 ? 1 : x < 0 ? -1 : x;
  const square = x * x;
  let term = x;
  let sum = x;
  for (let k = 1; abs(term) > 1e-17 * abs(sum); k++) {
    term *= (2 * square) / <f64>(2 * k + 1);
    sum += term;
  }
  return 1.1283791670955126 * exp(-square) * sum;
}
