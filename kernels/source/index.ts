export { product, products } from "./product";
export {
  absolute, adamw, add, addScaled, choose, copy, divide, equal, exp, gelu, larger, less, lessOrEqual, log, multiply, negative,
  relu, reluBack, root, sigmoid, smaller, spread, subtract, tanh, unequal,
} from "./maps";
export {
  fromBytes, gather, largest, logSoftmax, norm, normBack, scatter, smallest, softmax, softmaxBack, sum,
} from "./rows";
