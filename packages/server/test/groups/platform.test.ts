import { run } from './groups.ts'

await run('platform')
