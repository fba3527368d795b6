/** Both files wait for this one: the runner then mistook tests and hooks of the second for those of the first. */
import { setImmediate } from 'node:timers/promises'

await setImmediate()
