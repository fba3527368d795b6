/** The parts of a request that its answer repeats. */
import type { Profile } from '../profiles/names.ts'

export interface AnswerContext {
  readonly profile: Profile
  /** `https://host:port` */
  readonly origin: string
  /** Prefix of all paths: `/api`, or nothing for the control interface. */
  readonly base: string
  /** Canonical path below `base`. */
  readonly path: string
  readonly query: string
  readonly now: () => string
}

export interface Link {
  readonly href: string
  readonly rel: string
}
