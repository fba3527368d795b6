/** The journal thread: writes the calls of all worlds and answers what is asked of them, one after another. */
import { parentPort } from 'node:worker_threads'
import { removeStore } from '../../exchange-stores.ts'
import { TimeIsUp, TimeLimit } from '../../store/sqlite/time-limit.ts'
import { isDamage, JournalFile } from './journal-file.ts'
import type { Bounds, FromThread, Question, QuestionAboutCalls, ToThread } from './protocol.ts'

/** Files that are open at once; another one closes the one that rested longest. */
const maximumOpen = 16
/** After this time without use a file is closed. */
const idleMilliseconds = 2000
/** One question. */
const longestMilliseconds = 5000

const port = parentPort as NonNullable<typeof parentPort>
const say = (message: FromThread): void => port.postMessage(message)

const timeLimit = new TimeLimit()
const bounds = new Map<string, Bounds>()
/** In the order of their last use. */
const open = new Map<string, { readonly journal: JournalFile; usedAt: number }>()

function journalOf(file: string): JournalFile {
  const known = open.get(file)
  open.delete(file)
  const journal = known?.journal ?? new JournalFile(file, bounds.get(file) as Bounds, timeLimit)
  open.set(file, { journal, usedAt: performance.now() })
  const [oldest] = open.keys()
  if (open.size > maximumOpen && oldest !== undefined) close(oldest)
  watchIdle()
  return journal
}

/**
 * A file that is damaged is replaced by an empty one: a journal is no data. Any other fault may pass, and the file stays.
 * @param work leaves the file as it was where it fails
 */
function using<T>(file: string, work: (journal: JournalFile) => T): T {
  try {
    return work(journalOf(file))
  } catch (error) {
    if (!isDamage(error)) throw error
    say({ file, parts: [], missed: 0, failed: `${(error as Error).message}: the journal begins anew` })
    close(file)
    removeStore(file)
    return work(journalOf(file))
  }
}

function close(file: string): void {
  const known = open.get(file)
  open.delete(file)
  known?.journal.close()
}

let watching: NodeJS.Timeout | undefined
function watchIdle(): void {
  watching ??= setTimeout(() => {
    watching = undefined
    for (const [file, { usedAt }] of open) if (performance.now() - usedAt >= idleMilliseconds) close(file)
    if (open.size > 0) watchIdle()
  }, idleMilliseconds)
}

port.on('message', (message: ToThread) => {
  if ('end' in message) end()
  else if ('bounds' in message) setBounds(message.file, message.bounds)
  else if ('parts' in message) write(message)
  else answer(message.file, message.number, message.question)
})

function end(): void {
  clearTimeout(watching)
  for (const file of [...open.keys()]) close(file)
  port.close()
}

function setBounds(file: string, given: Bounds): void {
  const known = bounds.get(file)
  bounds.set(file, given)
  const isLower =
    known !== undefined && (given.maximumCalls < known.maximumCalls || given.maximumSizeBytes < known.maximumSizeBytes)
  try {
    if (isLower) using(file, (journal) => journal.setBounds(given))
    else if (open.has(file)) journalOf(file).bounds = given
  } catch (error) {
    say({ file, parts: [], missed: 0, failed: (error as Error).message })
  }
}

function write({ file, parts, missed }: Extract<ToThread, { parts: unknown }>): void {
  const buffers = parts.map(({ buffer }) => buffer)
  try {
    using(file, (journal) => journal.append(parts, missed))
    port.postMessage({ file, parts, missed } satisfies FromThread, buffers)
  } catch (error) {
    const failed = (error as Error).message
    port.postMessage({ file, parts, missed, failed } satisfies FromThread, buffers)
  }
}

function answer(file: string, number: number, question: Question): void {
  try {
    say({ number, answer: answerTo(file, question) })
  } catch (error) {
    say(error instanceof TimeIsUp ? { number, stopped: true } : { number, failed: (error as Error).message })
  }
}

function answerTo(file: string, question: Question): unknown {
  switch (question.asks) {
    case 'state':
      return using(file, (journal) => journal.state())
    case 'clear':
      return using(file, (journal) => {
        journal.clear()
        return journal.state()
      })
    case 'remove':
      close(file)
      removeStore(file)
      return undefined
    case 'close':
      close(file)
      return undefined
    default:
      return using(file, (journal) => {
        journal.unpack()
        return timeLimit.within(longestMilliseconds, () => found(journal, question))
      })
  }
}

function found(journal: JournalFile, question: QuestionAboutCalls): unknown {
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
