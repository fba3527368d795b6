export { BoundedCache } from '../store/bounded-cache.ts'
