// The type of the numbers. build.mjs compiles all files twice: as they are, and with f64 in the next line.
export type T = f32;

export const SIZE: usize = sizeof<T>();
export const LANES: i32 = <i32>(16 / SIZE); // numbers in a vector

/** Return the address of number `i` from an address. */
@inline
export function at(address: usize, i: i32): usize {
  return address + <usize>i * SIZE;
}

/** Load two numbers as float64. */
@inline
export function loadTwo(address: usize): v128 {
  return sizeof<T>() == 4 ? f64x2.promote_low_f32x4(v128.load64_zero(address)) : v128.load(address);
}

/** Store two numbers of float64 in the type of the numbers. */
@inline
export function storeTwo(address: usize, two: v128): void {
  if (sizeof<T>() == 4) v128.store64_lane(address, f32x4.demote_f64x2_zero(two), 0);
  else v128.store(address, two);
}

/** Return the sum of two lanes of float64. */
@inline
export function sumOfTwo(two: v128): f64 {
  return f64x2.extract_lane(two, 0) + f64x2.extract_lane(two, 1);
}
