/** What it costs a GET that a world has 1,000 rules of faults which do not meet it: the same in worlds of one service, in turns. */
import { Connection, requestBytes, type Target } from './load.ts'
import { type Rates, sideBySide } from './side-by-side.ts'

/** In `others` rules of other operations, in `same` rules of the same one, of other users and other names. */
export type FaultWorld = (typeof worlds)[number]

const rulesEach = 1000
/** Who or what rules of the same operation ask for: nobody who asks here, and nothing that is asked for. */
const unmet = [
  (number: number) => ({ caller: `user-${number}` }),
  (number: number) => ({ namePattern: `key-${number}/value` }),
  (number: number) => ({ namePattern: `other-${number}/*` }),
  (number: number) => ({ namePattern: `*-${number}` }),
  (number: number) => ({ namePattern: `b?nch/${number}` }),
]
const worlds = ['without', 'others', 'same'] as const

/** @param path of an entity in the world `default`, of which the others are forks */
export async function measureFaults(
  target: Target,
  password: string,
  path: string,
  secondsEach: number,
): Promise<Rates<FaultWorld>> {
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
      const isOfSame = { operation: 'getCategoryById', ...unmet[number % unmet.length]?.(number) }
      await post(`/control/v1/worlds/${world}/faults`, { match: world === 'others' ? isOfOther : isOfSame, effect })
    }
  }
  connection.close()
  const askedOf = (world: FaultWorld) => ({
    target,
    request: requestBytes('GET', path, password, undefined, { 'X-World': world }),
  })
  return sideBySide({ without: askedOf('without'), others: askedOf('others'), same: askedOf('same') }, secondsEach)
}
