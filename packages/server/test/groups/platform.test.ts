import { run } from './groups.ts'

run('platform')
