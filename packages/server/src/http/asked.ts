/** What an answer shows of its request. */
import type { Profile } from './profiles/names.ts'

export interface Asked {
  readonly profile: Profile
  /** `https://host:port` */
  readonly origin: string
  /** What stands before all paths: `/api`, or nothing. */
  readonly base: string
  /** Canonical path below it, and the text of the query. */
  readonly path: string
  readonly query: string
  /** Time there, as text. */
  readonly now: () => string
}

export interface Link {
  readonly href: string
  readonly rel: string
}
