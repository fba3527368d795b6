import { run } from './groups.ts'

run('parts')
