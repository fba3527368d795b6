import { run } from './groups.ts'

await run('control')
