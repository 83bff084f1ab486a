export { product, products } from "./product";
export {
  absolute, adamw, add, addScaled, choose, copy, divide, equal, exp, fill, gelu, geluBack, larger, less, lessOrEqual, log, masked, multiply, negative,
  relu, reluBack, root, sigmoid, smaller, spread, subtract, tanh, unequal,
} from "./maps";
export {
  dot, fromBytes, gather, largest, logSoftmax, norm, normBack, scatter, smallest, softmax, softmaxBack, sum,
} from "./rows";
