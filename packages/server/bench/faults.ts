/** What it costs a GET that a world has 1,000 rules of faults which do not meet it: the same in two worlds of one service, in turns. */
import { Connection, load, requestBytes, type Target } from './load.ts'

export interface FaultCosts {
  /** GETs a second. */
  readonly without: number
  /** Rules of other operations. */
  readonly others: number
  /** Rules of the same operation, of other users and other names. */
  readonly same: number
}

const turns = 12
const rulesEach = 1000
const worlds = ['without', 'others', 'same'] as const

/** @param path of an entity in the world `default`, of which the others are forks */
export async function measureFaults(
  target: Target,
  password: string,
  path: string,
  seconds: number,
): Promise<FaultCosts> {
  const connection = await Connection.open(target)
  const post = async (at: string, body: object): Promise<void> => {
    const answer = await connection.send(requestBytes('POST', at, password, body))
    if (answer.status !== 201) throw new Error(`POST ${at}: ${answer.status} ${answer.body}`)
  }
  const effect = { error: 'SERVICE_UNAVAILABLE', arguments: { fault: 'never' } }
  const operations = ['vmm.createVm', 'vmm.listVms', 'updateCategoryById', 'createVolumeGroup', 'listSubnets']
  for (const world of worlds) {
    await post('/control/v1/worlds/default/$actions/fork', { name: world })
    for (let number = 0; world !== 'without' && number < rulesEach; number++) {
      const isOfOther = { operation: operations[number % operations.length] }
      const isOfSame = {
        operation: 'getCategoryById',
        ...(number % 2 === 0 ? { caller: `user-${number}` } : { namePattern: `other-${number}/*` }),
      }
      await post(`/control/v1/worlds/${world}/faults`, { match: world === 'others' ? isOfOther : isOfSame, effect })
    }
  }
  connection.close()
  const sum = { without: 0, others: 0, same: 0 }
  for (let turn = -1; turn < turns; turn++) {
    // Whoever comes first in a round has it colder, or warmer: each does, in its turn.
    for (const world of worlds.map(
      (_, index) => worlds[(index + turn + 1) % worlds.length] as (typeof worlds)[number],
    )) {
      const get = requestBytes('GET', path, password, undefined, { 'X-World': world })
      const { perSecond, statuses } = await load(target, 16, seconds / turns, () => get)
      if (statuses.size !== 1 || !statuses.has(200)) throw new Error(`GET in ${world}: ${[...statuses]}`)
      // The first round warms up.
      if (turn >= 0) sum[world] += perSecond / turns
    }
  }
  return sum
}
