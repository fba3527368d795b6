/** What the operations of platform do: one line a kind, sorted. */
import { category } from './category.ts'

export const platform = { category }
