/**
 * Measures the cost of 1,000 fault rules that do not match a GET: the same request in worlds of one service, in turns.
 */
import { basic, Connection, requestBytes, type Target } from './load.ts'
import { type Rates, sideBySide } from './side-by-side.ts'

/** `others` has rules of other operations, `same` has rules of the same operation for other users and names. */
export type FaultWorld = (typeof worlds)[number]

const rulesEach = 1000
/** Conditions of the rules for the same operation; none of them matches. */
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
  const askedOf = (world: FaultWorld) => ({ target, path, headers: { ...basic(password), 'X-World': world } })
  return sideBySide({ without: askedOf('without'), others: askedOf('others'), same: askedOf('same') }, secondsEach)
}
