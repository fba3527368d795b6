import { join } from 'node:path'
import type { TypedFilter } from '../../odata/index.ts'
import { type Query, QueryStopped } from '../../store/store.ts'
import { JournalThread, type JournalThreadOptions } from './journal-thread.ts'
import type {
  AnswerTo,
  Bounds,
  CallText,
  Excerpt,
  ExcerptRequest,
  JournalState,
  PageOfCalls,
  Question,
  Tally,
  TallyRequest,
} from './protocol.ts'

export interface JournalSettings extends Bounds {
  readonly isRecording: boolean
}

export const defaultSettings: JournalSettings = {
  isRecording: true,
  maximumCalls: 100_000,
  maximumSizeBytes: 256 * 1024 * 1024,
}

export interface Journal {
  readonly settings: JournalSettings
  configure(settings: JournalSettings): void
  /** @param call builds the record; called soon, and before the next query of this journal */
  write(call: () => CallText, heldBytes?: number): void
  state(): Promise<JournalState>
  page(query: Query): Promise<PageOfCalls>
  excerpt(wanted: ExcerptRequest): Promise<Excerpt>
  tally(wanted: TallyRequest): Promise<Tally>
  /** JSON of calls that satisfy most of these terms, but not all. */
  near(terms: readonly TypedFilter[], limit: number): Promise<readonly string[]>
  clear(): Promise<JournalState>
  /** Resolves when calls have been written after this was called, or when `ending` or `signal` aborts. */
  changed(signal: AbortSignal): Promise<void>
  /** Aborted when requests must stop waiting for calls: the world is deleted or reset, or the process stops. */
  readonly ending: AbortSignal
}

export const journalFolder = (world: string): string => join(world, 'journal')

export class Journals {
  readonly #open = new Map<string, OpenJournal>()
  readonly #thread: JournalThread

  constructor(options: Pick<JournalThreadOptions, 'log' | 'idleThreads'>) {
    this.#thread = new JournalThread({
      ...options,
      onWritten: (folder) => this.#open.get(folder)?.notify(),
      hasListeners: (folder) => this.#open.get(folder)?.hasListeners === true,
    })
  }

  /** Created on first use, without files. */
  of(world: string): Journal {
    const folder = journalFolder(world)
    let journal = this.#open.get(folder)
    if (journal === undefined) {
      journal = new OpenJournal(this.#thread, folder)
      this.#open.set(folder, journal)
    }
    return journal
  }

  async remove(world: string): Promise<void> {
    this.#end(journalFolder(world))
    await this.#thread.remove(journalFolder(world))
  }

  async closeJournal(world: string): Promise<void> {
    this.#end(journalFolder(world))
    await this.#thread.closeJournal(journalFolder(world))
  }

  stopWaiting(): void {
    for (const journal of this.#open.values()) journal.stopWaiting()
  }

  close(): Promise<void> {
    return this.#thread.close()
  }

  #end(folder: string): void {
    this.#open.get(folder)?.end()
    this.#open.delete(folder)
  }
}

/** Once closed or removed, it rejects queries and drops calls. */
class OpenJournal implements Journal {
  readonly #thread: JournalThread
  readonly #folder: string
  readonly #ending = new AbortController()
  readonly #listeners = new Set<() => void>()
  #settings = defaultSettings
  #hasEnded = false

  constructor(thread: JournalThread, folder: string) {
    this.#thread = thread
    this.#folder = folder
    thread.setBounds(folder, this.#settings)
  }

  get settings(): JournalSettings {
    return this.#settings
  }

  get ending(): AbortSignal {
    return this.#ending.signal
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0
  }

  configure(settings: JournalSettings): void {
    this.#settings = settings
    if (!this.#hasEnded) this.#thread.setBounds(this.#folder, settings)
  }

  write(call: () => CallText, heldBytes = 0): void {
    if (!this.#hasEnded) this.#thread.write(this.#folder, call, heldBytes)
  }

  state(): Promise<JournalState> {
    return this.#ask({ asks: 'state' })
  }

  page(query: Query): Promise<PageOfCalls> {
    return this.#ask({ asks: 'page', query })
  }

  excerpt(wanted: ExcerptRequest): Promise<Excerpt> {
    return this.#ask({ asks: 'excerpt', wanted })
  }

  tally(wanted: TallyRequest): Promise<Tally> {
    return this.#ask({ asks: 'tally', wanted })
  }

  async near(terms: readonly TypedFilter[], limit: number): Promise<readonly string[]> {
    return (await this.#ask({ asks: 'near', terms, limit })).documents
  }

  clear(): Promise<JournalState> {
    return this.#ask({ asks: 'clear' })
  }

  changed(signal: AbortSignal): Promise<void> {
    const signals = [signal, this.ending]
    return new Promise((resolve) => {
      const listener = (): void => {
        this.#listeners.delete(listener)
        for (const each of signals) each.removeEventListener('abort', listener)
        resolve()
      }
      if (signals.some(({ aborted }) => aborted)) return resolve()
      this.#listeners.add(listener)
      for (const each of signals) each.addEventListener('abort', listener)
    })
  }

  notify(): void {
    for (const listener of this.#listeners) listener()
  }

  stopWaiting(): void {
    this.#ending.abort()
  }

  end(): void {
    this.#hasEnded = true
    this.stopWaiting()
  }

  #ask<Q extends Question>(question: Q): Promise<AnswerTo<Q>> {
    return this.#hasEnded ? Promise.reject(new QueryStopped('closing')) : this.#thread.ask(this.#folder, question)
  }
}
