/**
 * Measures the cost of journal recording for a GET: the same requests with recording on and off, in turns, on one
 * service.
 */
import { basic, Connection, requestBytes, type Target } from './load.ts'
import { type Rates, sideBySide } from './side-by-side.ts'

/** Many rounds, because the difference is smaller than the noise between slices. */
const rounds = 15

const journal = '/control/v1/worlds/default/journal'

/** Leaves the recording off. */
export async function measureRecording(
  target: Target,
  password: string,
  path: string,
  secondsEach: number,
  connections: number,
): Promise<Rates<'on' | 'off'>> {
  const connection = await Connection.open(target)
  async function record(isRecording: boolean): Promise<void> {
    const { head } = await connection.send(requestBytes('GET', journal, password))
    const tag = /^etag: (.*)$/im.exec(head)?.[1] ?? ''
    const { status, body } = await connection.send(
      requestBytes('PUT', journal, password, { isRecording }, { 'If-Match': tag }),
    )
    if (status !== 200) throw new Error(`PUT ${journal}: ${status} ${body}`)
  }
  const get = { target, path, headers: basic(password) }
  const rates = await sideBySide(
    { on: { ...get, prepare: () => record(true) }, off: { ...get, prepare: () => record(false) } },
    secondsEach,
    { connections, rounds },
  )
  await record(false)
  connection.close()
  return rates
}
