/** The journal thread: writes the calls of all worlds and answers queries, one message after another. */
import { rmSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { TimeIsUp, TimeLimit } from '../../store/sqlite/time-limit.ts'
import type { Bounds, FromThread, Question, QuestionAboutCalls, ToThread } from './protocol.ts'
import { isDamage, StoredJournal } from './storage/stored-journal.ts'

const maximumOpen = 16
const idleMilliseconds = 2000
const queryTimeoutMilliseconds = 5000

const port = parentPort as NonNullable<typeof parentPort>
const post = (message: FromThread): void => port.postMessage(message)

const timeLimit = new TimeLimit()
const bounds = new Map<string, Bounds>()
const open = new Map<string, { readonly journal: StoredJournal; usedAt: number }>()

function journalOf(folder: string): StoredJournal {
  const opened = open.get(folder)
  open.delete(folder)
  const journal = opened?.journal ?? new StoredJournal(folder, bounds.get(folder) as Bounds, timeLimit)
  open.set(folder, { journal, usedAt: performance.now() })
  const [oldest] = open.keys()
  if (open.size > maximumOpen && oldest !== undefined) close(oldest)
  scheduleIdleCheck()
  return journal
}

/** A damaged journal is replaced: it only documents test runs. @param work must leave the journal unchanged when it fails */
function withJournal<T>(folder: string, work: (journal: StoredJournal) => T): T {
  try {
    return work(journalOf(folder))
  } catch (error) {
    if (!isDamage(error)) throw error
    post({
      folder,
      parts: [],
      missed: 0,
      failed: `${(error as Error).message}: the journal was replaced by an empty one`,
    })
    close(folder)
    removeFolder(folder)
    return work(journalOf(folder))
  }
}

function close(folder: string): void {
  const opened = open.get(folder)
  open.delete(folder)
  opened?.journal.close()
}

function forget(folder: string): void {
  close(folder)
  bounds.delete(folder)
}

const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true })

let idleTimer: NodeJS.Timeout | undefined
function scheduleIdleCheck(): void {
  idleTimer ??= setTimeout(() => {
    idleTimer = undefined
    for (const [folder, { usedAt }] of open) if (performance.now() - usedAt >= idleMilliseconds) close(folder)
    if (open.size > 0) scheduleIdleCheck()
  }, idleMilliseconds)
}

port.on('message', (message: ToThread) => {
  if ('end' in message) end()
  else if ('rest' in message) rest()
  else if ('bounds' in message) setBounds(message.folder, message.bounds)
  else if ('parts' in message) write(message)
  else answer(message.folder, message.number, message.question)
})

function end(): void {
  closeAll()
  port.close()
}

function rest(): void {
  closeAll()
  bounds.clear()
  post({ resting: true })
}

function closeAll(): void {
  clearTimeout(idleTimer)
  idleTimer = undefined
  for (const folder of [...open.keys()]) close(folder)
}

function setBounds(folder: string, next: Bounds): void {
  const previous = bounds.get(folder)
  bounds.set(folder, next)
  const isLower =
    previous !== undefined &&
    (next.maximumCalls < previous.maximumCalls || next.maximumSizeBytes < previous.maximumSizeBytes)
  try {
    if (isLower) withJournal(folder, (journal) => journal.setBounds(next))
    else if (open.has(folder)) journalOf(folder).bounds = next
  } catch (error) {
    post({ folder, parts: [], missed: 0, failed: (error as Error).message })
  }
}

function write({ folder, parts, missed }: Extract<ToThread, { parts: unknown }>): void {
  const buffers = parts.map(({ buffer }) => buffer)
  try {
    withJournal(folder, (journal) => journal.append(parts, missed))
    port.postMessage({ folder, parts, missed } satisfies FromThread, buffers)
  } catch (error) {
    const failed = (error as Error).message
    port.postMessage({ folder, parts, missed, failed } satisfies FromThread, buffers)
  }
}

function answer(folder: string, number: number, question: Question): void {
  try {
    post({ number, answer: answerTo(folder, question) })
  } catch (error) {
    post(error instanceof TimeIsUp ? { number, stopped: true } : { number, failed: (error as Error).message })
  }
}

function answerTo(folder: string, question: Question): unknown {
  switch (question.asks) {
    case 'state':
      return withJournal(folder, (journal) => journal.state())
    case 'clear':
      return withJournal(folder, (journal) => {
        journal.clear()
        return journal.state()
      })
    case 'remove':
      forget(folder)
      removeFolder(folder)
      return undefined
    case 'close':
      forget(folder)
      return undefined
    default:
      return withJournal(folder, (journal) => {
        journal.indexAll()
        return timeLimit.within(queryTimeoutMilliseconds, () => queryResult(journal, question))
      })
  }
}

function queryResult(journal: StoredJournal, question: QuestionAboutCalls): unknown {
  switch (question.asks) {
    case 'page':
      return journal.page(question.query)
    case 'excerpt':
      return journal.excerpt(question.wanted)
    case 'tally':
      return journal.tally(question.wanted)
    case 'near':
      return journal.near(question.terms, question.limit)
  }
}
