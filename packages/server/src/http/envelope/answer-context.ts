/** Parts of a request that its answer repeats. */
import type { Profile } from '../profiles/names.ts'

export interface AnswerContext {
  readonly profile: Profile
  readonly origin: string
  readonly base: string
  readonly path: string
  readonly query: string
  readonly now: () => string
}

export interface Link {
  readonly href: string
  readonly rel: string
}
