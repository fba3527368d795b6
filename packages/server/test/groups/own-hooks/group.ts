import { declare } from '../groups.ts'

const here = 'packages/server/test/groups/own-hooks'
await declare([`${here}/first.ts`, `${here}/second.ts`])
