export { product, products } from "./product";
export {
  absolute, adamw, add, addScaled, copy, divide, exp, fill, gelu, geluBack, larger, log, masked, multiply, negative,
  relu, reluBack, root, sigmoid, smaller, subtract, tanh,
} from "./maps";
export {
  dot, fromBytes, gather, largest, logSoftmax, norm, normBack, scatter, smallest, softmax, softmaxBack, sum,
} from "./rows";
