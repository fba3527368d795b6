/** What it costs a GET that the journal keeps it: the same requests with recording on and off, in turns, on one service. */
import { Connection, load, requestBytes, type Target } from './load.ts'

export interface Recording {
  /** GETs a second. */
  readonly on: number
  readonly off: number
}

const journal = '/control/v1/worlds/default/journal'
const turns = 4

export async function measureRecording(
  target: Target,
  password: string,
  get: Buffer,
  seconds: number,
): Promise<Recording> {
  const connection = await Connection.open(target)
  async function record(isRecording: boolean): Promise<void> {
    const { head } = await connection.send(requestBytes('GET', journal, password))
    const tag = /^etag: (.*)$/im.exec(head)?.[1] ?? ''
    const { status, body } = await connection.send(
      requestBytes('PUT', journal, password, { isRecording }, { 'If-Match': tag }),
    )
    if (status !== 200) throw new Error(`PUT ${journal}: ${status} ${body}`)
  }
  const sum = { on: 0, off: 0 }
  for (let turn = 0; turn < turns; turn++) {
    for (const mode of ['on', 'off'] as const) {
      await record(mode === 'on')
      await load(target, 16, seconds / turns / 4, () => get)
      sum[mode] += (await load(target, 16, seconds / turns, () => get)).perSecond / turns
    }
  }
  connection.close()
  return sum
}
