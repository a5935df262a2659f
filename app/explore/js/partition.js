// Partitions of the tensors into modules, as the module of each tensor, and the splits of a memory. No DOM here.
export function divisorsOf(count) {
  return Array.from({ length: count }, (_, i) => i + 1).filter((one) => count % one === 0);
}

// Where a module ends within the sequence of tensors.
export function boundariesOf(moduleOf) {
  return moduleOf.flatMap((d, l) => (l && d !== moduleOf[l - 1] ? [l] : []));
}

export function partitionOf(boundaries, T) {
  return Array.from({ length: T }, (_, l) => boundaries.filter((at) => at <= l).length);
}
