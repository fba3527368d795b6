/** Guards shared data against later writes. Files and other non-plain objects stay as they are. */
export function frozen<T>(value: T): T {
  if (!isPlainData(value) || Object.isFrozen(value)) return value
  for (const item of Object.values(value)) frozen(item)
  return Object.freeze(value)
}

const isPlainData = (value: unknown): value is object => {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}
