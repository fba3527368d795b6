/** Reads small seeds in this thread, others in a thread of their own, because reading blocks requests. */

import { readFileSync, statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { Semaphore } from '../core/concurrency/semaphore.ts'
import { reasonOf, StartRefusal } from '../core/start-refusal.ts'
import { loadYaml } from '../core/yaml.ts'
import { threadOptions, threadProgram } from '../store/thread-options.ts'
import { spansInBytes } from './exact-rows.ts'
import { readText } from './read-text.ts'
import type { SeedReading } from './seed-reading.ts'
import { type SeedFault, SeedRefusal } from './seed-refusal.ts'

export type SeedText = { readonly file: string } | { readonly text: string }

export interface SeedOrder {
  readonly name: string
  readonly source: SeedText
}

export type SeedAnswer =
  | { readonly reading: SeedReading }
  | { readonly faults: readonly SeedFault[] }
  | { readonly refused: string }

/** Characters or bytes below which reading is faster than starting a thread. */
const quicklyRead = 4 * 1024
/** Larger files exceed the engine's limit for one string. */
const largestFileBytes = 400 * 1024 ** 2

/** Spans of rows count characters of the text, or bytes of the file. @throws SeedRefusal, StartRefusal */
export async function readSeedSource({ name, source }: SeedOrder, threads: Semaphore): Promise<SeedReading> {
  const length = 'text' in source ? source.text.length : sizeOf(source.file)
  if (length > quicklyRead) return threads.use(() => readInThread({ name, source }))
  await loadYaml()
  return readHere({ name, source })
}

export function readHere({ name, source }: SeedOrder): SeedReading {
  if ('text' in source) return readText(name, source.text)
  const bytes = bytesOf(source.file)
  const text = bytes.toString('utf8')
  const reading = readText(name, text)
  return { ...reading, spans: spansInBytes(bytes, text, reading.spans) }
}

async function readInThread(order: SeedOrder): Promise<SeedReading> {
  const worker = new Worker(threadProgram('seed-worker.ts', import.meta.url), { ...threadOptions(), workerData: order })
  const answered = Promise.withResolvers<SeedAnswer>()
  worker.on('message', answered.resolve)
  worker.on('error', answered.reject)
  worker.on('exit', () => answered.reject(new Error('the thread that reads a seed ended without an answer')))
  const answer = await answered.promise
  if ('reading' in answer) return answer.reading
  if ('refused' in answer) throw new StartRefusal(answer.refused)
  throw new SeedRefusal(order.name, answer.faults)
}

const cannotBeRead = (file: string, error: unknown): StartRefusal =>
  new StartRefusal(
    `The seed ${file} cannot be read (${reasonOf(error)}): correct the path of --seed, or the file's permissions.`,
    { cause: error },
  )

function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch (error) {
    throw cannotBeRead(file, error)
  }
}

function bytesOf(file: string): Buffer {
  const size = sizeOf(file)
  if (size > largestFileBytes)
    throw new StartRefusal(`The seed ${file} has ${size} bytes: expected at most ${largestFileBytes}.`)
  try {
    return readFileSync(file)
  } catch (error) {
    throw cannotBeRead(file, error)
  }
}
