/** Requests are counted apart from those of volumes. Source: behaviour volumes-storage.md 2. */
import { perSecond } from '../operation.ts'

export const readRate = perSecond(10)
export const writeRate = perSecond(2, 2, 5, 5)
