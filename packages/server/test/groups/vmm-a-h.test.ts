import { run } from './groups.ts'

await run('vmm-a-h')
