import type { StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { type PageQuery, readPage } from './page-query.ts'
import { connect } from './schema.ts'
import type { QueryThreadData, ThreadAnswer } from './slow-queries.ts'
import { TimeIsUp, TimeLimit } from './time-limit.ts'

const { file, limitMilliseconds } = workerData as QueryThreadData
const timeLimit = new TimeLimit()
const database = connect(file, { readOnly: true, timeLimit })
database.exec('PRAGMA cache_size = -4096')

// No statement cache: they are many, each is rare, and preparing costs little compared with running.
const prepare = (text: string): StatementSync => database.prepare(text)

parentPort?.on('message', (query: PageQuery) => parentPort?.postMessage(answerTo(query)))

function answerTo(query: PageQuery): ThreadAnswer {
  const begin = performance.now()
  try {
    const found = timeLimit.within(limitMilliseconds, () => readPage(database, prepare, query))
    return { found, milliseconds: performance.now() - begin }
  } catch (error) {
    return error instanceof TimeIsUp ? { stopped: true } : { failed: (error as Error).message }
  }
}
