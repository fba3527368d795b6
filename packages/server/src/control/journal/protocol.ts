/** Messages between the main thread and the journal thread. All values can be cloned. */
import type { TypedFilter } from '../../odata/index.ts'
import type { Query } from '../../store/store.ts'

export interface CallText {
  /** World times in milliseconds since 1970. */
  readonly began: number
  readonly ended: number
  /** Members that other calls have as well, each after a comma; stored once per part. */
  readonly shared: string
  /** All other members. With `answer`, the text ends inside the answer object, in front of its size. */
  readonly own: string
  /** The same string belongs to earlier calls: stored once per part too. */
  readonly isOwnRepeated?: boolean
  /** The body of the answer, not empty; the journal thread escapes it. */
  readonly answer?: SentBody | undefined
}

export interface SentBody {
  readonly text: string
  /** The beginning of `text` in UTF-8, as far as it is kept. Absent: all of it, which `text` holds. */
  readonly kept?: Uint8Array | undefined
  /** Default: the size of `kept`. */
  readonly sizeBytes?: number | undefined
  /** The sent bytes: calls that were answered with the same object share its place. Absent: calls with equal texts do. */
  readonly sent?: Uint8Array | undefined
}

/** Packed calls in the first `length` bytes of a buffer, which messages transfer. */
export interface PackedPart {
  readonly buffer: ArrayBuffer
  readonly length: number
  readonly count: number
  /** Size of its calls as bounds count it: a shared text counts for each call. */
  readonly sizeBytes: number
}

export interface Bounds {
  readonly maximumCalls: number
  readonly maximumSizeBytes: number
}

export interface JournalState {
  /** `last + 1` in an empty journal. */
  readonly first: number
  readonly last: number
  readonly sizeBytes: number
  readonly dropped: number
  readonly missed: number
}

export interface PageOfCalls {
  readonly documents: readonly string[]
  readonly total: number
  readonly state: JournalState
}

export interface ExcerptRequest {
  readonly after: number
  readonly upTo?: number
  readonly filter?: TypedFilter
  readonly maximumCalls: number
  readonly maximumBytes: number
}

export interface Excerpt {
  readonly calls: readonly { readonly sequence: number; readonly document: string }[]
  readonly readUpTo: number
  readonly isComplete: boolean
  readonly missed: number
  readonly last: number
}

export interface TallyRequest {
  readonly after: number
  readonly filter?: TypedFilter
  readonly matching: number
}

export interface Tally {
  readonly count: number
  readonly matching: readonly number[]
  readonly last: number
}

export interface NearMisses {
  readonly documents: readonly string[]
}

/** Each query is answered once, after all earlier writes. */
export type Question =
  | QuestionAboutCalls
  | { readonly asks: 'state' }
  | { readonly asks: 'clear' }
  | { readonly asks: 'remove' }
  | { readonly asks: 'close' }

export type QuestionAboutCalls =
  | { readonly asks: 'page'; readonly query: Query }
  | { readonly asks: 'excerpt'; readonly wanted: ExcerptRequest }
  | { readonly asks: 'tally'; readonly wanted: TallyRequest }
  | { readonly asks: 'near'; readonly terms: readonly TypedFilter[]; readonly limit: number }

export type AnswerTo<Q extends Question> = Q extends { asks: 'state' | 'clear' }
  ? JournalState
  : Q extends { asks: 'page' }
    ? PageOfCalls
    : Q extends { asks: 'excerpt' }
      ? Excerpt
      : Q extends { asks: 'tally' }
        ? Tally
        : Q extends { asks: 'near' }
          ? NearMisses
          : undefined

export type ToThread =
  | { readonly folder: string; readonly bounds: Bounds }
  | {
      readonly folder: string
      readonly parts: readonly PackedPart[]
      /** Calls dropped since the previous batch. */
      readonly missed: number
    }
  | { readonly folder: string; readonly number: number; readonly question: Question }
  | { readonly end: true }
  /** Forgets all journals, and waits for those of another app. */
  | { readonly rest: true }

export type FromThread =
  | {
      readonly folder: string
      readonly parts: readonly PackedPart[]
      readonly missed: number
      readonly failed?: string
    }
  | { readonly resting: true }
  | { readonly number: number; readonly answer: unknown }
  | { readonly number: number; readonly stopped: true }
  | { readonly number: number; readonly failed: string }
